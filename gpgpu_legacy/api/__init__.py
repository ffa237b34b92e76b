"""What `import gpgpu_legacy` offers: the pipeline, its verbs and their results, products, programs.

host/ runs whole Brook programs, figures/ draws what the verb `figure` shows, and command/ has what
commands are made of; the commands themselves do not live here.
"""
