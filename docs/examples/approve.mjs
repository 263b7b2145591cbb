// A manager who approves each new request of reimbursement_agent. Uses NATS and JSON, nothing of agentmesh.
import { readFileSync } from 'node:fs';
import { connect, credsAuthenticator } from '@nats-io/transport-node';

const { NATS_URL: servers, MESH_NATS_CREDS: creds } = process.env;
const authenticator = credsAuthenticator(readFileSync(creds));
const nc = await connect({ servers, authenticator, inboxPrefix: '_INBOX_client', maxReconnectAttempts: -1 });
function answer({ call: { name, args, operationSubject } = {} }) {
  if (name !== 'ask_for_approval') return;
  console.log('approved:', args, operationSubject);
  nc.publish(operationSubject, '{"final":true,"response":{"status":"approved"},"by":"eve"}');
}
nc.subscribe('mesh.v1.session.*.*.*.pending.*', { callback: (_, message) => answer(message.json()) });
console.log(`listening, ${await nc.rtt()} ms away`);
