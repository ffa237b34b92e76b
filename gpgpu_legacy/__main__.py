"""`python -m gpgpu_legacy` is `gpgpu-legacy`."""

from gpgpu_legacy.cli import main

main()
