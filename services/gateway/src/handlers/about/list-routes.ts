import type { Handler, Route } from '../../context/route.ts';

/** Lists all routes, for people who try the address. */
export const listRoutes =
  (routes: () => readonly Route[]): Handler =>
  () => ({
    name: 'agentmesh gateway',
    routes: routes().map(({ method, url }) => `${method} ${url}`),
  });
