// A durable run, and the events of its session. The run continues even when this program ends.
import { connect } from '@nats-io/transport-node';

const { NATS_URL: servers, MESH_NATS_USER: user, MESH_NATS_PASSWORD: pass } = process.env;
const nc = await connect({ servers, user, pass, inboxPrefix: '_INBOX_client' });
const events = nc.subscribe('mesh.v1.session.stock_app.billing.*.event');
nc.publish('mesh.v1.agent.stock_agent.run.new', '{"user":"billing","message":"Price of MSFT?"}');
for await (const message of events) {
  const { author, content, errorMessage } = message.json();
  console.log(author, errorMessage ?? JSON.stringify(content?.parts?.[0]));
  process.exitCode = errorMessage === undefined ? 0 : 1;
  if (errorMessage !== undefined || (author !== 'user' && content?.parts?.[0]?.text)) break;
}
await nc.close();
