"""What `import gpgpu_legacy` offers: the pipeline, its verbs and their results, products, programs.

host/ runs whole Brook programs, and figures/ draws what the verb `figure` shows. Parsing a command
line does not live here.
"""
