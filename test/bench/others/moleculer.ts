import { ServiceBroker } from 'moleculer';
import type { Case } from '../cases.ts';

export const echoService = 'echo';

/** Opens a node of Moleculer that speaks over NATS, with its defaults and without logs. */
export function openBroker(nodeID: string, natsUrl: string): ServiceBroker {
  return new ServiceBroker({
    nodeID,
    transporter: { type: 'NATS', options: { url: natsUrl } },
    logger: false,
  });
}

/** The cases of a call of a Moleculer service in another process, which keeps nothing. */
export function moleculerCases(broker: ServiceBroker): Case[] {
  const message = 'x'.repeat(200);
  const once = async () => {
    const reply = await broker.call<{ message: string }, { message: string }>(`${echoService}.echo`, {
      message,
    });
    if (reply.message !== message) throw new Error('a reply of Moleculer is not the request');
  };
  return [1, 64].map((inFlight) => ({
    ...{ id: 'moleculer', name: 'call of a Moleculer service over NATS', inFlight },
    ...{ count: inFlight === 1 ? 300 : 3_000, once },
  }));
}
