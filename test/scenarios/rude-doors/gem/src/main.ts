import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { gem } from '../../agents.fixture.ts';

await runAgentService(new App({ name: 'gem_app', rootAgent: gem }));
