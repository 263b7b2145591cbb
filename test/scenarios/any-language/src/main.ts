import { runAgentService } from '@agentmesh/mesh';
import { exchangeAgent, exchangeApp } from './agent.ts';

await runAgentService({ agent: exchangeAgent, app: exchangeApp.name });
