/* The driver interface: everything the backend asks of the machine, in plain C.
 *
 * This header and the library behind it are the only things a vendor replaces. `sim/` implements it on the host so that
 * the backend builds, runs and is measured before there is a chip.
 *
 * Rules that the backend relies on:
 *   - every call is thread-safe and names its device or stream; there is no hidden "current device" in the driver;
 *   - work on one stream runs in the order it was enqueued, work on different streams in any order;
 *   - a device address means nothing to the host: it is only passed back to this interface;
 *   - an error of asynchronous work is reported once, by the next call that waits for its stream. */
#ifndef @{ cookiecutter.DEVICE }@_DRIVER_H
#define @{ cookiecutter.DEVICE }@_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define @{ cookiecutter.DEVICE }@_API __attribute__((visibility("default")))

typedef enum @{ cookiecutter.device }@Status {
  @{ cookiecutter.DEVICE }@_SUCCESS = 0,
  @{ cookiecutter.DEVICE }@_ERROR_NOT_READY = 1,       /* a query: the work is still under way */
  @{ cookiecutter.DEVICE }@_ERROR_OUT_OF_MEMORY = 2,
  @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE = 3,   /* no such device, null handle, bad size */
  @{ cookiecutter.DEVICE }@_ERROR_INVALID_ADDRESS = 4, /* not an address of a live block of that device */
  @{ cookiecutter.DEVICE }@_ERROR_FORKED = 5,          /* the driver was started before fork(): this child can't use it */
  @{ cookiecutter.DEVICE }@_ERROR_KERNEL = 6           /* a kernel returned an error */
} @{ cookiecutter.device }@Status;

@{ cookiecutter.DEVICE }@_API const char* @{ cookiecutter.device }@StatusString(@{ cookiecutter.device }@Status status);

/* ---- device ---- */

typedef struct @{ cookiecutter.device }@DeviceProperties {
  char name[64];
  int simulated; /* 1 if this is not a real chip: every report made on it says so */
  size_t total_memory;
} @{ cookiecutter.device }@DeviceProperties;

/* Starts the driver; cheap and harmless when it is running already. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@Init(void);
/* Answers without starting the driver. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@GetDeviceCount(int* count);
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@GetDeviceProperties(int device, @{ cookiecutter.device }@DeviceProperties* properties);
/* Waits for all work of all streams of the device. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@DeviceSynchronize(int device);
/* 1 in a child of a process that had started the driver before fork(). */
@{ cookiecutter.DEVICE }@_API int @{ cookiecutter.device }@IsForked(void);

/* ---- streams ---- */

typedef struct @{ cookiecutter.device }@Stream_s* @{ cookiecutter.device }@Stream_t;

@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@StreamCreate(int device, @{ cookiecutter.device }@Stream_t* stream);
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@StreamSynchronize(@{ cookiecutter.device }@Stream_t stream);
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@StreamQuery(@{ cookiecutter.device }@Stream_t stream); /* SUCCESS or NOT_READY */

/* ---- events ---- */

typedef struct @{ cookiecutter.device }@Event_s* @{ cookiecutter.device }@Event_t;

@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@EventCreate(int device, @{ cookiecutter.device }@Event_t* event);
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@EventDestroy(@{ cookiecutter.device }@Event_t event);
/* Marks this point of the stream; replaces an earlier record. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@EventRecord(@{ cookiecutter.device }@Event_t event, @{ cookiecutter.device }@Stream_t stream);
/* An event that was never recorded is ready. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@EventQuery(@{ cookiecutter.device }@Event_t event); /* SUCCESS or NOT_READY */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@EventSynchronize(@{ cookiecutter.device }@Event_t event);
/* What comes after this on the stream waits for the latest record of the event. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@StreamWaitEvent(@{ cookiecutter.device }@Stream_t stream, @{ cookiecutter.device }@Event_t event);
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@EventElapsedTime(@{ cookiecutter.device }@Event_t start, @{ cookiecutter.device }@Event_t end, double* milliseconds);

/* ---- memory ---- */

/* Blocks are aligned to 64 bytes; their content is undefined. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@Malloc(int device, size_t bytes, void** address);
/* Frees the block when the work enqueued on the stream so far is done. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@FreeAsync(void* address, @{ cookiecutter.device }@Stream_t stream);
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@MemGetInfo(int device, size_t* free_bytes, size_t* total_bytes);
/* Which device a block belongs to; INVALID_ADDRESS if none. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@PointerGetDevice(const void* address, int* device);

/* Page-locked host memory: copies to and from it may overlap with the host's own work. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@MallocHost(size_t bytes, void** address);
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@FreeHost(void* address); /* waits for the devices first */
@{ cookiecutter.DEVICE }@_API int @{ cookiecutter.device }@IsHostPinned(const void* address);

typedef enum @{ cookiecutter.device }@MemcpyKind {
  @{ cookiecutter.DEVICE }@_MEMCPY_HOST_TO_DEVICE = 0,
  @{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_HOST = 1,
  @{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_DEVICE = 2 /* within a device or between two */
} @{ cookiecutter.device }@MemcpyKind;

/* Host memory must stay alive until the stream has passed the copy. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@MemcpyAsync(void* dst, const void* src, size_t bytes, @{ cookiecutter.device }@MemcpyKind kind, @{ cookiecutter.device }@Stream_t stream);

/* ---- kernels ---- */

/* Device code. `buffers` are addresses that the device can use; `params` is the argument block, copied at launch.
 * Returns 0, or a code of its own that the launch reports as @{ cookiecutter.DEVICE }@_ERROR_KERNEL. */
typedef int (*@{ cookiecutter.device }@Kernel_t)(void* const* buffers, const void* params);

/* Enqueues a kernel. Each buffer must lie in a live block of the stream's device. */
@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@LaunchKernel(@{ cookiecutter.device }@Kernel_t kernel, void* const* buffers, int buffer_count, const void* params,
                                  size_t params_bytes, @{ cookiecutter.device }@Stream_t stream);

/* ---- what the driver has done since it was started ---- */

typedef struct @{ cookiecutter.device }@Counters {
  uint64_t launches;
  uint64_t host_to_device_copies;
  uint64_t device_to_host_copies;
  uint64_t device_to_device_copies;
  uint64_t host_to_device_bytes;
  uint64_t device_to_host_bytes;
} @{ cookiecutter.device }@Counters;

@{ cookiecutter.DEVICE }@_API @{ cookiecutter.device }@Status @{ cookiecutter.device }@GetCounters(@{ cookiecutter.device }@Counters* counters);

#ifdef __cplusplus
}
#endif
#endif
