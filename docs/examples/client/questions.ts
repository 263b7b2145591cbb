import { MeshClient, questionsIn, textOf } from '@agentmesh/client';

const client = new MeshClient({ url: process.env.GATEWAY_URL ?? 'http://localhost:8000' });
const session = await client.createSession({ app: 'desk_app', user: 'ann' });

const events = await (await client.run(session, 'Order lunch')).rest();
const [question] = events.flatMap(questionsIn);
console.log(question?.kind, question?.args.originalFunctionCall);
console.log((await client.pending(session)).length, 'waits');
if (question) {
  const answered = await client.confirm(session, question, true);
  console.log((await answered.rest()).map(textOf).join(''));
}
