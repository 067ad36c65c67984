"""Names that a new backend can't have because torch, C++ or Python has them already.

Kept as data so that answers are judged without importing torch; a test compares them with the installed torch.
"""

from __future__ import annotations

import keyword
import sys


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What `torch.device()` knows (torch 2.13); the name of the renamable one included.
TORCH_DEVICES = _words("""
    cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia
    privateuseone
""")

#: A device `x` becomes `torch.x`, `Tensor.x()`, `Tensor.is_x`, `Module.x()` and `UntypedStorage.x()`, and torch refuses
#: a name of which one exists. These exist in torch 2.13, of those that could be a device name.
TORCH_ATTRIBUTES = _words("""
    abs absolute accelerator acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin
    aminmax amp angle any ao apply arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort
    argwhere asarray asin asinh atan atan2 atanh autocast autograd backends backward baddbmm bernoulli bfloat16
    bilinear bincount binomial bit bits16 bits1x8 bits2x4 bits4x2 bits8 bmm bool bucketize buffers builtins byte
    byteswap cat cdist cdouble ceil celu cfloat chalf char children cholesky chunk clamp classes classproperty clip
    clone coalesce coalesced combinations compile compiler complex complex128 complex32 complex64 concat concatenate
    cond conj contiguous contrib conv1d conv2d conv3d convolution copysign corrcoef cos cosh cov cpp cross ctypes
    cummax cummin cumprod cumsum data deg2rad dequantize det detach device diag diagflat diagonal diff digamma dim
    dist distributed distributions div divide dot double dropout dsmm dsplit dstack dtype eig einsum embedding empty
    eq equal erf erfc erfinv eval exp exp2 expand expm1 export eye fft filename fill finfo fix flatten flip fliplr
    flipud float float16 float32 float64 floor fmax fmin fmod fork forward frac frexp frombuffer full func
    functional functools futures fx gather gcd ge geqrf ger glob grad gradient greater gru gt half hardshrink
    heaviside histc histogram histogramdd hsmm hsplit hspmm hstack hub hypot i0 igamma igammac iinfo imag importlib
    index indices inf inference inner inspect int int1 int16 int2 int3 int32 int4 int5 int6 int64 int7 int8 inverse
    isclose isfinite isin isinf isnan isneginf isposinf isreal istft item itemsize jagged jit kron kthvalue layout
    lcm ldexp le leaf lerp less lgamma library linalg linspace load lobpcg log log10 log1p log2 logaddexp logaddexp2
    logcumsumexp logdet logit logspace logsumexp long lstm lstsq lt lu masked math matmul max maximum mean median
    meshgrid min minimum mm mode modules monitor moveaxis movedim msort mul multinomial multiply multiprocessing mv
    mvlgamma name nan nanmean nanmedian nanquantile nansum narrow nativert nbytes ndim ndimension ne neg negative
    nelement nested new newaxis nextafter nn nonzero norm normal numa numel numpy ones onnx ops optim orgqr ormqr os
    outer overrides package parameters pdist permute pi pinned pinverse platform poisson polar polygamma positive
    pow prelu prod profiler put qint32 qint8 qr qscheme quantile quantization quantized quasirandom quint2x4
    quint4x2 quint8 rad2deg rand randint randn random randperm range ravel real reciprocal reinforce relu remainder
    renorm repeat reshape resizable resize roll rot90 round rrelu rsqrt rsub saddmm save scatter searchsorted seed
    select selu serialization sgn shape shared short sigmoid sign signal signbit signed sin sinc sinh size slogdet
    smm softmax solve sort sparse special split spmm sqrt square squeeze sspaddmm stack std stft storage stride
    strided sub subtract sum svd swapaxes swapdims symeig sys take tan tanh tensor tensordot testing textwrap
    threading threshold tile to tolist topk torch trace train transpose trapezoid trapz tril triu trunc type
    typename types uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7 uint8 unbind unflatten unfold
    unique unsqueeze untyped utils values vander var vdot version view vmap volatile vsplit vstack wait warnings
    where windows xlogy zeros
""")

#: Keywords of C++20 and alternative tokens; the device's name is a C++ namespace.
CPP_KEYWORDS = _words("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
    true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq final override
    import module
""")

#: Namespaces that torch's headers use, macros that compilers define, and global names of the C library: a namespace
#: of the same name does not compile.
CPP_NAMES = _words("""
    std main posix linux unix i386 arm at c10 aten caffe2 torch pybind11 nlohmann fmt gloo onnx intrinsics simd
    errno assert stdin stdout stderr null offsetof va_list jmp_buf
    size_t ptrdiff_t int8_t int16_t int32_t int64_t time_t clock_t div_t ldiv_t lldiv_t tm timeval timespec stat
    abort abs access acct alarm atexit atof atoi atol atoll bcmp bcopy brk bsearch bzero calloc chdir chmod chown chroot
    clearenv clock clone close confstr creat crypt ctime daemon difftime div dup dup2 dup3 environ erand48 execl execv
    execve exit fabs fclose fdopen feof ferror fflush ffs fgetc fgets fileno fopen fork fpathconf fprintf fputc fputs
    fread free freopen fscanf fseek fsync ftell ftime ftruncate fwrite getc getchar getcwd getegid getenv geteuid getgid
    getlogin getopt getpgid getpgrp getpid getppid getsid getuid getw gmtime index initstate ioctl isatty isalnum
    isalpha isdigit islower isspace isupper jrand48 kill killpg labs ldiv link llabs lldiv localeconv localtime lockf
    longjmp lrand48 lseek malloc mblen memchr memcmp memcpy memmem memmove memset mkdir mkdtemp mkfifo mkstemp mktemp
    mktime mount mrand48 nanosleep nice nrand48 open optarg opterr optind optopt pause pclose perror pipe pipe2 popen
    pread printf profil putc putchar putenv puts putw pwrite qsort raise rand random read readlink realloc realpath
    remove rename rewind rindex rmdir scanf select setbuf setenv setjmp setlocale setpgid setpgrp setsid setstate setuid
    setvbuf signal sigaction sleep snprintf sprintf srand srandom sscanf stime strcat strchr strcmp strcpy strcspn
    strdup strerror strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtok strtol swab swapcontext
    symlink sync sysconf syscall system tempnam time times tmpfile tmpnam toascii tolower toupper truncate ttyname
    ttyslot tzname tzset ualarm umask uname ungetc unlink unsetenv usleep vfork vhangup wait waitpid write
    j0 j1 jn y0 y1 yn acos asin atan atan2 ceil cos cosh exp floor fmod frexp gamma hypot ldexp lgamma log log10 log1p
    log2 logb modf nan pow rint round scalb sin sinh sqrt tan tanh tgamma trunc
""")

#: Import names that a backend package would hide or be hidden by.
PACKAGES = _words("""
    torch torchgen functorch torchvision torchaudio torchtext torchdata numpy onboard conformance setuptools pip
    wheel pytest test tests src build dist docs driver csrc include lib
""") | frozenset(sys.stdlib_module_names)

#: Distribution names that belong to others on the package index, or that pip would confuse with them.
DISTRIBUTIONS = _words("""
    torch torchgen functorch torchvision torchaudio torchtext torchdata torch-onboard pytorch numpy setuptools pip
    wheel pytest
""")

PYTHON_KEYWORDS = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | {"none", "true", "false", "self"}
