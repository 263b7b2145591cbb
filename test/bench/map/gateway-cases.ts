import { type Mesh, startRun } from '@agentmesh/mesh';
import type { Case } from '../cases.ts';
import { appOf } from './map-names.ts';

type MapCase = Pick<Case, 'name' | 'count' | 'once'>;

const user = 'map';
const app = appOf('plain_agent');
/** The number of sessions in the list, and the size of the file, in bytes. */
const [listed, fileBytes] = [100, 1024 * 1024];

/** Makes the cases of the gateway at a base URL, and the same by a client on NATS where there is one. */
export function gatewayCases(mesh: Mesh, url: string): MapCase[] {
  const ofUser = `${url}/apps/${app}/users`;
  return [
    {
      name: 'first event of a turn, by a client on NATS',
      count: 20,
      async once() {
        const { id: session } = await mesh.sessions.createSession({ appName: app, userId: user });
        const beganAt = performance.now();
        const run = await startRun(mesh, { app, user, session, message: 'hello' });
        let first: number | undefined;
        for await (const _event of run.events) first ??= performance.now() - beganAt;
        return assertTime(first);
      },
    },
    {
      name: 'first event of a turn, by /run_sse',
      count: 20,
      async once() {
        const { id: session } = await mesh.sessions.createSession({ appName: app, userId: user });
        const beganAt = performance.now();
        const response = await post(`${url}/run_sse`, {
          ...{ app_name: app, user_id: user, session_id: session, streaming: true },
          new_message: { role: 'user', parts: [{ text: 'hello' }] },
        });
        let first: number | undefined;
        let text = '';
        for await (const chunk of response.body ?? []) {
          text += Buffer.from(chunk).toString();
          if (text.includes('data: {')) first ??= performance.now() - beganAt;
        }
        if (!text.includes('"done"')) throw new Error(`/run_sse gave ${text}`);
        return assertTime(first);
      },
    },
    {
      name: `list of ${listed} sessions`,
      count: 20,
      once: listOnce(mesh, `${ofUser}/lister/sessions`),
    },
    ...fileCases(mesh, ofUser),
  ];
}

function listOnce(mesh: Mesh, url: string): () => Promise<void> {
  let isFilled = false;
  return async () => {
    if (!isFilled) {
      for (let n = 0; n < listed; n += 1)
        await mesh.sessions.createSession({ appName: app, userId: 'lister' });
      isFilled = true;
    }
    const sessions = (await (await ok(await fetch(url))).json()) as unknown[];
    if (sessions.length !== listed) throw new Error(`${sessions.length} sessions are listed, not ${listed}`);
  };
}

/** Makes the cases of a file of 1 MiB that a client sends and reads. */
function fileCases(mesh: Mesh, ofUser: string): MapCase[] {
  let folder: string | undefined;
  const files = async () => {
    if (folder === undefined) {
      const { id } = await mesh.sessions.createSession({ appName: app, userId: user });
      folder = `${ofUser}/${user}/sessions/${id}/artifacts`;
    }
    return folder;
  };
  const data = Buffer.alloc(fileBytes, 'x').toString('base64');
  const artifact = { inlineData: { data, mimeType: 'text/plain' } };
  return [
    {
      name: 'upload of 1 MiB',
      count: 5,
      once: async () => void (await (await post(await files(), { filename: 'file', artifact })).text()),
    },
    {
      name: 'download of 1 MiB',
      count: 5,
      async once() {
        const response = await ok(await fetch(`${await files()}/file/content`));
        const { byteLength } = await response.arrayBuffer();
        if (byteLength !== fileBytes) throw new Error(`a download has ${byteLength} bytes`);
      },
    },
  ];
}

function assertTime(time: number | undefined): number {
  if (time === undefined) throw new Error('a turn gave no event');
  return time;
}

async function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return await ok(await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }));
}

/** @throws Error for a refusal */
async function ok(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw new Error(`the gateway answered ${response.status}: ${await response.text()}`);
}
