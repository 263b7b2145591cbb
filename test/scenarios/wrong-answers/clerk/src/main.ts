import { runAgentService } from '@agentmesh/mesh';
import { clerk } from './agent.ts';

await runAgentService({ agent: clerk, app: 'clerk_app', resumabilityConfig: { isResumable: true } });
