import asyncio
from servers.company import get_build

polls = 0
while True:
    build = await get_build(id="b-7")
    polls += 1
    if build["state"] == "done":
        break
    await asyncio.sleep(0.05)
result = f"build {build['id']} is done after {polls} polls"
