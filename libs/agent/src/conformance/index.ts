export type { MakeSessionService } from './session-service.ts';
export { sessionServiceConformance } from './session-service.ts';
