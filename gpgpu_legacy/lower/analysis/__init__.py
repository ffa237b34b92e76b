"""What emitters and executors have to know of programs and kernels, each fact computed once."""
