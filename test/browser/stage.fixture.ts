import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { type Sample, samples } from '@agentmesh/deploy/samples';
import { agentManifest } from '@agentmesh/mesh';
import { deskApp } from './desk/src/agent.ts';

const desk: Sample = { manifest: agentManifest(deskApp), folder: 'test/browser/desk' };
const used = [
  ...['customer_agent', 'support_agent', 'time_off_agent', 'reimbursement_agent'],
  ...['ask_for_approval', 'reimburse'],
];

/** Starts a mesh of samples, an agent for this test, and a gateway that serves ADK's web UI. */
export async function startStage(): Promise<LocalMesh> {
  const services = samples.filter(({ manifest }) => used.includes(manifest.name));
  // The launcher gives each service the variables that it reads; only the gateway reads this one.
  process.env.MESH_ADK_WEB = '1';
  return await launchMesh({ services: [...services, desk], model: 'scripted' });
}
