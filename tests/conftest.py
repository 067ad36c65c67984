import os

# A backend that is installed beside the tests, as `make demo` leaves one, is none of theirs.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
