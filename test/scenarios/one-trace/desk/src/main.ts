import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { desk } from '../../definitions.ts';

await runAgentService(
  new App({ name: 'desk_app', rootAgent: desk, resumabilityConfig: { isResumable: true } }),
);
