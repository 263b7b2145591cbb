import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { diary } from '../../definitions.ts';

await runAgentService(new App({ name: 'diary_app', rootAgent: diary }));
