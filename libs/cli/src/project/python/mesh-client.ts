/** The text of docs/examples/any-language/mesh_client.py. Written by test/write-docs.ts. */
export const meshClientText = String.raw`"""A small client of NATS for tools and publishers of a mesh. It needs nothing but Python's standard library.

It reads the environment that agentmesh join writes: NATS_URL, and MESH_NATS_CREDS or MESH_NATS_USER and
MESH_NATS_PASSWORD. With the package nats-py, use that instead; the messages are the same.
"""

import base64
import itertools
import json
import os
import queue
import socket
import ssl
import threading
import urllib.parse

import signature


class MeshError(Exception):
    """An error of the mesh: code is one of docs/errors.md."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Message:
    """A message: its subject, its headers by lower-case names, its bytes, and the subject for replies."""

    def __init__(self, subject, reply, headers, data):
        self.subject, self.reply, self.headers, self.data = subject, reply, headers, data

    def json(self):
        return json.loads(self.data)


class Connection:
    """A connection to NATS. on_error gets what the server refuses; closed is set when the connection ends."""

    def __init__(self, env=os.environ, on_error=None):
        self.closed = threading.Event()
        self._on_error = on_error or (lambda text: None)
        self._handlers, self._numbers, self._lock = {}, itertools.count(1), threading.Lock()
        self.namespace = env.get("MESH_NAMESPACE", "mesh")
        self.root = f"{self.namespace}.v1"
        url = urllib.parse.urlsplit(_variable(env, "NATS_URL"))
        try:
            self._socket = socket.create_connection((url.hostname, url.port or 4222), timeout=10)
        except OSError as error:
            raise MeshError("unavailable", f"no NATS server answers at {url.hostname}: {error}") from None
        self._file = self._socket.makefile("rb")
        info = json.loads(self._file.readline().split(b" ", 1)[1])
        if info.get("tls_required") or url.scheme == "tls":
            context = ssl.create_default_context(cafile=env.get("MESH_NATS_CA_FILE"))
            self._socket = context.wrap_socket(self._socket, server_hostname=url.hostname)
            self._file = self._socket.makefile("rb")
        login, self.service = _login(env, info.get("nonce", ""))
        options = {"verbose": False, "headers": True, "no_responders": True, "lang": "python", "version": "1"}
        self._send(b"CONNECT " + json.dumps({**options, "name": self.service, **login}).encode() + b"\r\nPING\r\n")
        for line in iter(self._file.readline, b"PONG\r\n"):
            if line.startswith(b"-ERR") or not line:
                raise MeshError("unauthenticated", line.decode().strip() or "the server closed the connection")
        self._socket.settimeout(None)
        self._inbox = f"_INBOX_{self.service}.{os.urandom(8).hex()}"
        self._replies = {}
        self.subscribe(f"{self._inbox}.*", self._take_reply)
        threading.Thread(target=self._read, daemon=True).start()

    def publish(self, subject, body=b"", reply="", headers=None):
        """Sends a message. A body that is not bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        if headers is None:
            self._send(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")
            return
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"NATS/1.0\r\n{lines}\r\n".encode()
        size = f"{len(head)} {len(head) + len(data)}"
        self._send(f"HPUB {subject} {reply} {size}\r\n".encode() + head + data + b"\r\n")

    def subscribe(self, subject, handler, group=""):
        """Calls the handler with each message, in the thread that reads."""
        number = next(self._numbers)
        self._handlers[number] = handler
        self._send(f"SUB {subject} {group} {number}\r\n".encode())

    def request(self, subject, body, timeout=30, headers=None):
        """Sends a request, and returns the body of its reply. Raises MeshError for an error of the mesh."""
        inbox, replies = f"{self._inbox}.{next(self._numbers)}", queue.Queue()
        self._replies[inbox] = replies
        try:
            self.publish(subject, body, inbox, headers or {})
            reply = replies.get(timeout=timeout)
        except queue.Empty:
            raise MeshError("unavailable", f"nobody answered on {subject} within {timeout} s") from None
        finally:
            del self._replies[inbox]
        if isinstance(reply, MeshError):
            raise reply
        if reply.headers.get("status") == "503":
            raise MeshError("unavailable", f"nobody listens on {subject}")
        body = json.loads(reply.data) if reply.data else None
        if "nats-service-error" in reply.headers:
            raise MeshError((body or {}).get("code", "internal"), reply.headers["nats-service-error"])
        return body

    def store(self, subject, body, message_id):
        """Gives a message to JetStream, which keeps it. A repetition of the id stores nothing."""
        ack = self.request(subject, body, headers={"Nats-Msg-Id": message_id})
        if "error" in ack:
            raise MeshError("failed_precondition", ack["error"]["description"])
        return ack

    def close(self):
        self._socket.close()

    def _send(self, data):
        with self._lock:
            self._socket.sendall(data)

    def _take_reply(self, message):
        replies = self._replies.get(message.subject)
        if replies:
            replies.put(message)

    def _read(self):
        try:
            for line in iter(self._file.readline, b""):
                word, _, rest = line.decode().strip().partition(" ")
                if word in ("MSG", "HMSG"):
                    self._take_message(word == "HMSG", rest.split())
                elif word == "PING":
                    self._send(b"PONG\r\n")
                elif word == "-ERR":
                    self._refused(rest.strip("'"))
        except (OSError, ValueError):
            pass
        for replies in list(self._replies.values()):
            replies.put(MeshError("unavailable", "the connection is closed"))
        self.closed.set()

    def _refused(self, text):
        """Tells everybody who waits that the server refuses a subject."""
        self._on_error(text)
        if "Permissions Violation" in text:
            for replies in list(self._replies.values()):
                replies.put(MeshError("permission_denied", text))

    def _take_message(self, has_headers, words):
        sizes = [int(each) for each in words[-2 if has_headers else -1 :]]
        names = words[: len(words) - len(sizes)]
        payload = self._file.read(sizes[-1] + 2)[:-2]
        head = payload[: sizes[0]] if has_headers else b""
        message = Message(names[0], names[2] if len(names) > 2 else "", _headers(head), payload[len(head) :])
        handler = self._handlers.get(int(names[1]))
        if handler:
            handler(message)


def _headers(head):
    first, *lines = head.decode().split("\r\n")
    pairs = (line.partition(":")[::2] for line in lines if ":" in line)
    status = first.split(" ")[1:2]
    return {**{name.strip().lower(): value.strip() for name, value in pairs}, **({"status": status[0]} if status else {})}


def _variable(env, name):
    if env.get(name):
        return env[name]
    advice = "set the variables of the file that agentmesh join has written: set -a; . <file>; set +a"
    raise MeshError("invalid_argument", f"{name} is not set; {advice}")


def _login(env, nonce):
    """Returns the fields of CONNECT, and the name of the service."""
    file = env.get("MESH_NATS_CREDS")
    if not file:
        user = _variable(env, "MESH_NATS_USER")
        return {"user": user, "pass": _variable(env, "MESH_NATS_PASSWORD")}, user
    with open(file, encoding="ascii") as creds:
        blocks = [line.strip() for line in creds if line.strip() and not line.startswith(("-", "*", "IMPORTANT", "NKEYs"))]
    jwt, nkey = blocks[0], next(block for block in blocks if block.startswith("SU"))
    claims = json.loads(base64.urlsafe_b64decode(jwt.split(".")[1] + "=="))
    signed = signature.sign(signature.seed_of(nkey), nonce.encode())
    return {"jwt": jwt, "sig": base64.urlsafe_b64encode(signed).decode().rstrip("=")}, claims["name"]
`;
