// A run that a program in the folder of a project starts, while agentmesh dev runs.
import { readFileSync } from 'node:fs';
import { connectMesh, createLogger, startRun } from 'agentmesh/mesh';

const { variables } = JSON.parse(readFileSync('.agentmesh/context.json', 'utf8'));
await using mesh = await connectMesh({
  service: 'client',
  log: createLogger({ service: 'client', replica: '1' }),
  natsUrl: variables.NATS_URL,
  credsFile: variables.MESH_NATS_CREDS, // no user and no password
  redisUrl: variables.REDIS_URL,
});
await mesh.sessions.createSession({ appName: 'helper', userId: 'ann', sessionId: 's1' });
const message = { role: 'user', parts: [{ text: 'What time is it in Tokyo?' }] };
const { events } = await startRun(mesh, { app: 'helper', user: 'ann', session: 's1', message });
for await (const { content } of events) console.log(content?.parts?.[0]?.text);
