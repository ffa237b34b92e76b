"""The functions that `import gpgpu_legacy` offers: the pipeline and its verbs, products, programs.

The results of verbs live here; drawing pictures and parsing a command line do not.
"""
