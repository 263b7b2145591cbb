"""A publisher in Python. It joins a running mesh: agentmesh join billing --kind publisher --agents exchange_agent

python3 publisher.py ask exchange_agent "What is a euro in USD?"    prints the answer
python3 publisher.py run exchange_agent "What is a euro in USD?"    a durable run in a new session; prints its place
"""

import argparse
import sys
import uuid

from mesh_client import Connection, MeshError


def main():
    parser = argparse.ArgumentParser(description="Asks an agent of a mesh, or gives it a durable run.")
    parser.add_argument("verb", choices=["ask", "run"], help="ask: wait for the answer; run: a durable run in a new session")
    parser.add_argument("agent", help="the name of the agent")
    parser.add_argument("text", help="the message")
    given = parser.parse_args()
    connection = Connection()
    if given.verb == "ask":
        print(connection.request(f"{connection.root}.agent.{given.agent}.ask", {"message": given.text})["text"])
    else:
        body = {"user": connection.service, "message": given.text}
        ack = connection.store(f"{connection.root}.agent.{given.agent}.run.new", body, str(uuid.uuid4()))
        print(f"accepted as number {ack['seq']}")


if __name__ == "__main__":
    try:
        main()
    except MeshError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
