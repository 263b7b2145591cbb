import { sessionServiceConformance } from '../../conformance/index.ts';
import { InMemorySessionService } from './session-service.ts';

sessionServiceConformance('InMemorySessionService', async () => ({
  service: new InMemorySessionService(),
  dispose: async () => {},
}));
