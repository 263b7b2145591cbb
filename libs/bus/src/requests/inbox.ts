import { MeshError } from '@agentmesh/protocol';
import type { BrokerLink, Listening, Packet } from '../bus/broker-link.ts';
import { closedError, whenConnected } from '../bus/when-connected.ts';
import { type Claims, inOrderOfArrival } from '../claims/claims.ts';

/** The receiver of the replies to one request. */
export interface ReplyListener {
  onPacket(packet: Packet): void;
  onFail(error: MeshError): void;
  /** Called when a packet or a piece of a large payload has come. */
  onAlive?(): void;
}

interface OpenRequest extends ReplyListener {
  subject: string;
  answered: boolean;
}

/**
 * The inbox of a connection. All calls share one subscription; each call has its own token in the reply
 * subject.
 */
export interface Inbox {
  /** Sends a request. Returns a function that stops listening. @throws MeshError */
  call(packet: Packet, listener: ReplyListener): Promise<() => void>;
}

export function createInbox(link: BrokerLink, claims: Claims): Inbox {
  const calls = new Map<string, OpenRequest>();
  const arrive = inOrderOfArrival(claims);
  let counter = 0;
  let listening: Promise<Listening> | undefined;

  function failAll(error: MeshError) {
    const failed = [...calls.values()];
    calls.clear();
    for (const call of failed) call.onFail(error);
  }

  function onPacket(packet: Packet) {
    const call = calls.get(packet.subject.slice(link.inbox.length + 1));
    if (!call) return;
    call.answered = true;
    arrive(packet, {
      deliver(whole) {
        // Nobody else gets this payload.
        claims.drop(packet);
        call.onPacket(whole);
      },
      fail: call.onFail,
      onAlive: () => call.onAlive?.(),
    });
  }

  function listen(): Promise<Listening> {
    listening ??= link
      .listen(`${link.inbox}.*`, onPacket, {
        onLost: (error) => {
          listening = undefined;
          failAll(error);
        },
      })
      .catch((error) => {
        listening = undefined;
        throw error;
      });
    return listening;
  }

  // The broker names only the subject that it refused. Permissions are by subject, so the refusal holds for
  // all calls there.
  link.onDenied((subject) => {
    for (const [token, call] of calls) {
      if (call.subject !== subject || call.answered) continue;
      calls.delete(token);
      call.onFail(new MeshError('permission_denied', `this service may not send to ${subject}`));
    }
  });
  link.closed.addEventListener('abort', () => failAll(closedError()));

  return {
    async call(packet, listener) {
      await listen();
      // The connection may have been lost meanwhile.
      await whenConnected(link);
      const token = (counter++).toString(36);
      calls.set(token, { ...listener, subject: packet.subject, answered: false });
      try {
        link.send({ ...packet, reply: `${link.inbox}.${token}` });
      } catch (thrown) {
        calls.delete(token);
        throw thrown;
      }
      return () => calls.delete(token);
    },
  };
}

/** Returns the first reply to a request, or the notice that nobody listens; undefined without either in time. */
export async function firstPacket(
  inbox: Inbox,
  packet: Packet,
  timeoutMs: number,
): Promise<Packet | undefined> {
  const reply = Promise.withResolvers<Packet | undefined>();
  const close = await inbox.call(packet, { onPacket: reply.resolve, onFail: reply.reject });
  const timer = setTimeout(() => reply.resolve(undefined), timeoutMs);
  try {
    return await reply.promise;
  } finally {
    clearTimeout(timer);
    close();
  }
}
