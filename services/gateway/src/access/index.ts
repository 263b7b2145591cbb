export { openLimits } from './limit-requests.ts';
export { openAuthenticators } from './open-authenticators.ts';
