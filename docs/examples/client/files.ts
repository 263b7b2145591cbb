import { MeshClient, MeshClientError } from '@agentmesh/client';

const client = new MeshClient({ url: process.env.GATEWAY_URL ?? 'http://localhost:8000' });
const session = await client.createSession({ app: 'desk_app', user: 'ann' });

const { version, size } = await client.uploadArtifact(session, 'note.txt', 'Hello!');
const file = await client.downloadArtifact(session, 'note.txt');
console.log(version, size, file.headers.get('content-type'), await file.text());

try {
  await client.downloadArtifact(session, 'none.txt');
} catch (error) {
  if (error instanceof MeshClientError) console.log(error.status, error.code, error.message);
}

const run = await client.run(session, 'Tell me a long story', { signal: AbortSignal.timeout(5_000) });
await run.cancel({ reason: 'enough' });
console.log(await run.rest().catch((error) => `${error.code}: ${error.message}`));
