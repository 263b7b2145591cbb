"""A publisher in Python. It joins a running mesh: agentmesh join billing --kind publisher --agents exchange_agent

python3 publisher.py ask exchange_agent "What is a euro in USD?"    prints the answer
python3 publisher.py run exchange_agent "What is a euro in USD?"    a durable run in a new session; prints its place
"""

import sys
import uuid

from mesh_client import Connection, MeshError


def main(verb, agent, text):
    connection = Connection()
    if verb == "ask":
        print(connection.request(f"{connection.root}.agent.{agent}.ask", {"message": text})["text"])
    elif verb == "run":
        body = {"user": connection.service, "message": text}
        ack = connection.store(f"{connection.root}.agent.{agent}.run.new", body, str(uuid.uuid4()))
        print(f"accepted as number {ack['seq']}")
    else:
        sys.exit(f"{verb} is no verb: ask or run")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except MeshError as error:
        sys.exit(str(error))
