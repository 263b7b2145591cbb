/** The text of docs/examples/any-language/serve_tool.py. Written by test/write-docs.ts. */
export const serveToolText = `"""Serves a function as a tool of a mesh: its card, its calls with heartbeats, and the NATS services protocol."""

import collections
import datetime
import json
import signal
import sys
import threading
import time

from mesh_client import Connection, MeshError

HEARTBEAT_S = 1
KEPT_RESULTS = 1_000


def log(level, msg, **fields):
    """Writes a line of the log as JSON, as the services of agentmesh do."""
    clock = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    print(json.dumps({"level": level, "time": clock, "msg": msg, **fields}), flush=True)


class Results:
    """The results by call id. A repeated call gets the result of the first one, and waits for it."""

    def __init__(self):
        self._results, self._lock = collections.OrderedDict(), threading.Lock()

    def once(self, call_id, work):
        with self._lock:
            known = self._results.get(call_id) if call_id else None
            entry = known or {"done": threading.Event()}
            if call_id and not known:
                self._results[call_id] = entry
                if len(self._results) > KEPT_RESULTS:
                    self._results.popitem(last=False)
        if known:
            entry["done"].wait()
        else:
            entry["outcome"] = work()
            entry["done"].set()
        return entry["outcome"]


def serve_tool(name, description, parameters, function, version="0.1.0"):
    """Serves until SIGTERM or Ctrl-C. Connects again when the connection ends."""
    stopping, results = threading.Event(), Results()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    declaration = {"name": name, "description": description, "parametersJsonSchema": parameters}
    card = {"kind": "tool", "name": name, "description": description, "version": version, "declaration": declaration}
    while not stopping.is_set():
        try:
            connection = Connection(on_error=lambda text: log("error", text))
            _start(connection, card, function, results)
            log("info", "started", service=connection.service)
        except (OSError, MeshError) as error:
            if getattr(error, "code", "") == "invalid_argument":
                sys.exit(str(error))
            log("warn", "could not connect", reason=str(error))
            stopping.wait(1)
            continue
        while not stopping.wait(0.2) and not connection.closed.is_set():
            pass
        connection.close()
    log("info", "stopped")
    sys.exit(0)


def _start(connection, card, function, results):
    name, root = card["name"], connection.root
    bucket = f"{connection.namespace.upper()}_CARDS"
    identity = {"name": name, "id": f"{connection.service}-{time.time_ns():x}", "version": card["version"], "metadata": {}}
    ping = {"type": "io.nats.micro.v1.ping_response", **identity}
    for subject in ("$SRV.PING", f"$SRV.PING.{name}", f"$SRV.PING.{name}.{identity['id']}"):
        connection.subscribe(subject, lambda message: connection.publish(message.reply, ping))

    def take(message):
        threading.Thread(target=_answer, args=(connection, message, function, results), daemon=True).start()

    connection.subscribe(f"{root}.tool.{name}.call", take, group="q")
    connection.request(f"$KV.{bucket}.tool.{name}", card)


def _answer(connection, message, function, results):
    """Answers a call by frames: heartbeats while the function works, then the result or the error."""
    frames = Frames(connection, message)
    try:
        call = message.json()
        response = results.once(call.get("callId"), lambda: _run(function, call.get("args", {})))
        frames.end("result", response)
    except Exception as error:  # the caller must get an answer, whatever happened
        log("error", "could not answer a call", reason=repr(error))
        frames.end("error", {"code": "internal", "message": "the tool failed; its log has the cause"})


def _run(function, args):
    try:
        return {"response": function(**args)}
    except Exception as error:  # the model is told
        log("warn", "the function failed", reason=repr(error))
        return {"response": {"error": str(error)}, "failed": {"message": str(error)}}


class Frames:
    """The replies to a call. A caller without Mesh-Accept: frames gets the last one alone."""

    def __init__(self, connection, message):
        self._connection, self._reply, self._count = connection, message.reply, 0
        self._isStream = message.headers.get("mesh-accept") == "frames"
        self._ended, self._lock = threading.Event(), threading.Lock()
        threading.Thread(target=self._beat, daemon=True).start()

    def end(self, kind, body):
        self._ended.set()
        error = {"Nats-Service-Error": body["message"], "Nats-Service-Error-Code": "500"} if kind == "error" else {}
        self._put(kind, json.dumps(body).encode(), error)
        # The server forgets the way back to the caller.
        self._connection.publish(self._reply)

    def _beat(self):
        while not self._ended.wait(HEARTBEAT_S):
            if self._isStream:
                self._put("heartbeat", b"", {})

    def _put(self, kind, data, headers):
        with self._lock:
            if kind == "heartbeat" and self._ended.is_set():
                return
            if self._isStream:
                headers = {"Mesh-Frame": kind, "Mesh-Seq": str(self._count), **headers}
            self._count += 1
            self._connection.publish(self._reply, data, headers=headers)
`;
