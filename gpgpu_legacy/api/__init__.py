"""What `import gpgpu_legacy` offers: the pipeline, its verbs and their results, products, programs.

host/ runs whole Brook programs, figures/ draws what the verb `figure` shows, and command/ has the
parts of commands; the commands themselves are in cli/.
"""
