import { integer, perApp, variable } from '@agentmesh/service';

const mostRuns = 10_000_000;
const mostTokens = 1_000_000_000_000;
const everywhere = 'over all gateways; empty: unlimited';
const byApp = `${everywhere}; a number, or numbers by app: shop=30,*=100`;

/** The variables that limit the runs and the tokens of callers, users and apps. */
export const quotaConfig = {
  runsPerMinute: variable(
    'MESH_HTTP_RUNS_PER_MINUTE',
    `number of runs that one caller starts in a minute, ${everywhere}`,
    integer(1, mostRuns),
    { optional: true },
  ),
  userRunsPerMinute: variable(
    'MESH_HTTP_USER_RUNS_PER_MINUTE',
    `number of runs that start in the sessions of one user in a minute, ${everywhere}`,
    integer(1, mostRuns),
    { optional: true },
  ),
  appRunsPerMinute: variable(
    'MESH_HTTP_APP_RUNS_PER_MINUTE',
    `number of runs that start in one app in a minute, ${byApp}`,
    perApp(1, mostRuns),
    { optional: true },
  ),
  tokensPerMinute: variable(
    'MESH_HTTP_TOKENS_PER_MINUTE',
    `number of tokens that the runs of one caller use in a minute, ${everywhere}`,
    integer(1, mostTokens),
    { optional: true },
  ),
  userTokensPerMinute: variable(
    'MESH_HTTP_USER_TOKENS_PER_MINUTE',
    `number of tokens that the runs in the sessions of one user use in a minute, ${everywhere}`,
    integer(1, mostTokens),
    { optional: true },
  ),
  appTokensPerMinute: variable(
    'MESH_HTTP_APP_TOKENS_PER_MINUTE',
    `number of tokens that the runs in one app use in a minute, ${byApp}`,
    perApp(1, mostTokens),
    { optional: true },
  ),
  tokensPerDay: variable(
    'MESH_HTTP_TOKENS_PER_DAY',
    `number of tokens that the runs of one caller use in a day, ${everywhere}`,
    integer(1, mostTokens),
    { optional: true },
  ),
  userTokensPerDay: variable(
    'MESH_HTTP_USER_TOKENS_PER_DAY',
    `number of tokens that the runs in the sessions of one user use in a day, ${everywhere}`,
    integer(1, mostTokens),
    { optional: true },
  ),
  appTokensPerDay: variable(
    'MESH_HTTP_APP_TOKENS_PER_DAY',
    `number of tokens that the runs in one app use in a day, ${byApp}`,
    perApp(1, mostTokens),
    { optional: true },
  ),
};
