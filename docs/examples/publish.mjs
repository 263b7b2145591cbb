// A durable run, and the events of its session. The acknowledged run continues even when this program ends.
import { readFileSync } from 'node:fs';
import { connect, credsAuthenticator } from '@nats-io/transport-node';

const { NATS_URL: servers, MESH_NATS_CREDS: creds } = process.env;
const authenticator = credsAuthenticator(readFileSync(creds));
const nc = await connect({ servers, authenticator, inboxPrefix: '_INBOX_client' });
const events = nc.subscribe('mesh.v1.session.stock_app.billing.*.event.*.*.*', { timeout: 30_000 });
const ack = await nc.request('mesh.v1.agent.stock_agent.run.new', '{"user":"billing","message":"MSFT?"}');
if (ack.json().error) throw new Error(ack.json().error.description);
for await (const message of events) {
  const { author, content, errorMessage } = message.json();
  if (errorMessage) throw new Error(errorMessage);
  console.log(author, JSON.stringify(content?.parts?.[0]));
  if (author !== 'user' && content?.parts?.[0]?.text) await nc.close();
}
