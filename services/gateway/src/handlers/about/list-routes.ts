import { type Handler, routes } from '../index.ts';

/** What there is, for people who try the address. */
export const index: Handler = () => ({
  name: 'agentmesh gateway',
  routes: routes.map(({ method, url }) => `${method} ${url}`),
});
