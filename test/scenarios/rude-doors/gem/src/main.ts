import { runAgentService } from '@agentmesh/mesh';
import { gem } from '../../agents.fixture.ts';

await runAgentService({ agent: gem, app: 'gem_app' });
