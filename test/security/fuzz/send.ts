import { Agent, request as httpRequest } from 'node:http';
import type { FuzzedRequest } from './requests.ts';

export interface FuzzedAnswer {
  /** The status; `slow` for a request that was given up, `cut` for a connection without an answer. */
  status: number | 'slow' | 'cut';
  /** The beginning of the answer. */
  text: string;
}

/** The time after which a request is given up, in ms: some ask for an answer that never comes. */
const givenUpMs = 5_000;

/** Sends requests as they are, over some connections. */
export function openSender(url: string, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = new URL(url);
  return {
    send({ method, path, headers, body }: FuzzedRequest): Promise<FuzzedAnswer> {
      const { promise, resolve } = Promise.withResolvers<FuzzedAnswer>();
      const length = body ? { 'content-length': String(body.length) } : {};
      const sent = httpRequest(
        { agent, hostname, port, method, path, headers: { ...headers, ...length } },
        (response) => {
          let text = '';
          response.on('data', (data) => {
            if (text.length < 500) text += data;
          });
          const done = () => resolve({ status: response.statusCode ?? 'cut', text });
          response.on('end', done);
          response.on('error', done);
        },
      );
      sent.setTimeout(givenUpMs, () => {
        resolve({ status: 'slow', text: '' });
        sent.destroy();
      });
      sent.on('error', (error) => resolve({ status: 'cut', text: error.message }));
      sent.end(body);
      return promise;
    },
    close: () => agent.destroy(),
  };
}
