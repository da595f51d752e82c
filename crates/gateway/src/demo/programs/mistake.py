orders = [{"id": 1, "total": "12.50"}, {"id": 2, "total": "n/a"}]

def total(order):
    return float(order["total"])

print(sum(total(order) for order in orders))
