import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { clerk } from './agent.ts';

await runAgentService(
  new App({ name: 'clerk_app', rootAgent: clerk, resumabilityConfig: { isResumable: true } }),
);
