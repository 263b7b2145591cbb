"""A tool in Python. It joins a running mesh: agentmesh join get_rate --kind tool"""

import time

from serve_tool import serve_tool

RATES = {"EUR": 1.0, "USD": 1.25, "JPY": 160.0}


def get_rate(currency, slow_s=0):
    """Returns what a euro costs. A currency that is not known is an error, which the model reads."""
    time.sleep(slow_s)
    if currency not in RATES:
        raise ValueError(f"the currency {currency} is not known; known are {', '.join(RATES)}")
    return {"currency": currency, "rate": RATES[currency]}


PARAMETERS = {
    "type": "object",
    "properties": {
        "currency": {"type": "string", "description": "The code of the currency, such as USD."},
        "slow_s": {"type": "number", "description": "A pause before the answer, in seconds."},
    },
    "required": ["currency"],
}

if __name__ == "__main__":
    serve_tool("get_rate", "Tells what a euro costs in another currency.", PARAMETERS, get_rate)
