import { MeshError } from '@agentmesh/protocol';
import type { BrokerLink, Listening, Packet } from '../bus/broker-link.ts';
import { closedError, whenConnected } from '../bus/when-connected.ts';
import { type Claims, inOrderOfArrival } from '../claims/claims.ts';

/** Who waits for the replies to one request. */
export interface ReplyListener {
  onPacket(packet: Packet): void;
  onFail(error: MeshError): void;
  /** Something has come; of what is large, some of it. */
  onHeard?(): void;
}

interface OpenRequest extends ReplyListener {
  subject: string;
  answered: boolean;
}

/** All calls of a connection share one subscription; a token of its own tells each one's replies. */
export interface Inbox {
  /** Sends a request. Returns how to stop listening. @throws MeshError */
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
        // Nobody else is sent it.
        claims.drop(packet);
        call.onPacket(whole);
      },
      fail: call.onFail,
      heard: () => call.onHeard?.(),
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

  // The broker names the subject alone, so that a refusal concerns all calls there; permissions are by subject, so it
  // does.
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
      // The connection may have gone meanwhile.
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

/** The first reply to a request; `undefined` when nobody listens or nobody answers in time. */
export async function firstReply(
  inbox: Inbox,
  packet: Packet,
  timeoutMs: number,
): Promise<Packet | undefined> {
  const reply = Promise.withResolvers<Packet | undefined>();
  const close = await inbox.call(packet, {
    onPacket: (answer) => reply.resolve(answer.noResponders ? undefined : answer),
    onFail: reply.reject,
  });
  const timer = setTimeout(() => reply.resolve(undefined), timeoutMs);
  try {
    return await reply.promise;
  } finally {
    clearTimeout(timer);
    close();
  }
}
