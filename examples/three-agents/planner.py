"""The planner: divides the job, waits for the results, and puts them together.

The job: how many primes are there below 60,000?
"""

from collections import Counter

END, STEP = 60_000, 5_000

tasks, results = board(f"{job}-tasks", "team"), board(f"{job}-results", "team")

for start in range(0, END, STEP):
    tasks.post({"start": start, "end": start + STEP})

found = []
async for message in results:
    found.append(message)
    if len(found) == END // STEP:
        break
tasks.post("done")

result = {
    "primes": sum(message["body"]["primes"] for message in found),
    "tasks": Counter(message["author"] for message in found),
}
