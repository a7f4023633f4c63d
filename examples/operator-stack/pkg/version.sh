version=1
