for attempt in ("/etc/passwd", "/root/.ssh/id_rsa"):
    try:
        open(attempt)
    except OSError as error:
        print(f"{attempt}: {error.strerror}")
while True:
    pass
