// A question to an agent from any program. Uses NATS and JSON, nothing of agentmesh.
import { readFileSync } from 'node:fs';
import { connect, credsAuthenticator } from '@nats-io/transport-node';

const { NATS_URL: servers, MESH_NATS_CREDS: creds } = process.env;
const authenticator = credsAuthenticator(readFileSync(creds));
const nc = await connect({ servers, authenticator, inboxPrefix: '_INBOX_client' });
const question = JSON.stringify({ message: process.argv[2] ?? 'What is the price of GOOG?' });
const reply = await nc.request('mesh.v1.agent.stock_agent.ask', question, { timeout: 30_000 });
const error = reply.headers?.get('Nats-Service-Error');
if (error) process.exitCode = 1;
console.log(error ? `the agent failed: ${error}` : reply.json().text);
await nc.close();
