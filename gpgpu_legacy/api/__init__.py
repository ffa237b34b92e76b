"""What `import gpgpu_legacy` gives: products, programs, traces."""
