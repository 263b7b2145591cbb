import { MeshClient, textOf } from '@agentmesh/client';

const client = new MeshClient({ url: process.env.GATEWAY_URL ?? 'http://localhost:8000' });
const session = await client.createSession({ app: 'desk_app', user: 'ann' });

const run = await client.run(session, 'Tell me a story');
for await (const { event, seq } of run) {
  // A piece of an answer has no number; the event that follows has all of its text.
  console.log(seq === undefined ? `… ${textOf(event)}` : `${event.author}: ${textOf(event)}`);
}
