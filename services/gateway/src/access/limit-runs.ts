import { setTimeout as delay } from 'node:timers/promises';
import { endOfRun, type InvocationRef } from '@agentmesh/agent/internal';
import type { Mesh } from '@agentmesh/mesh';
import { MeshError, meshTime } from '@agentmesh/protocol';
import type { Config, Logger } from '@agentmesh/service';
import type { AdmittedRun, RunAdmission } from '../context/admission.ts';
import { quotaConfig } from '../context/quota-config.ts';

type Quotas = NonNullable<Mesh['runQuotas']>;
type OpenRun = Awaited<ReturnType<Quotas['openRuns']>>[number];
type RunQuota = Parameters<Quotas['admit']>[2][number];
type QuotaSettings = Config<typeof quotaConfig>;

/** Time for which a run may use tokens past its deadline, in ms. */
const lateMs = 60_000;
/** Time between two counts of all open runs, in ms, and their number at a time. */
const countMs = 2_000;
const atOnce = 20;

const unlimited: RunAdmission = {
  admit: async () => ({ count: async () => {}, drop: async () => {} }),
  [Symbol.asyncDispose]: async () => {},
};

/**
 * Returns the admission of runs by the quotas of the settings. The tokens of a run are counted from the record of its
 * invocation: by its gateway when it ends, and before by any gateway, every two seconds. So they count too when the
 * gateway of the run dies.
 *
 * @throws MeshError `failed_precondition` for quotas in a mesh without Redis
 */
export function openAdmission(
  settings: QuotaSettings,
  { runQuotas, sessions, log }: Pick<Mesh, 'runQuotas' | 'sessions'> & { log: Pick<Logger, 'warn'> },
): RunAdmission {
  const names = Object.keys(quotaConfig) as (keyof QuotaSettings)[];
  if (names.every((name) => settings[name] === undefined)) return unlimited;
  if (!runQuotas)
    throw new MeshError(
      'failed_precondition',
      'this mesh has no Redis, which counts runs; remove the limits',
    );
  const quotas = runQuotas;

  async function count(run: OpenRun): Promise<void> {
    const record = await sessions.invocations.get(run);
    const isOver = endOfRun(record, run.resume) !== undefined || meshTime() > run.until;
    await quotas.countTokens(run, record.tokens, isOver);
  }

  async function admit(
    ref: InvocationRef,
    { caller, timeoutMs }: { caller: string; timeoutMs: number },
  ): Promise<AdmittedRun> {
    const ofApp = quotasIn(settings, ref.appName);
    if (ofApp.length === 0) return await unlimited.admit(ref, { caller, timeoutMs });
    const { appName, userId, sessionId, invocationId, resume } = ref;
    const until = meshTime() + timeoutMs + lateMs;
    const run = { appName, userId, sessionId, invocationId, resume, caller, until };
    // A new invocation has used nothing.
    const used = resume === undefined ? 0 : (await sessions.invocations.get(ref)).tokens;
    const refusal = await quotas.admit(run, used, ofApp);
    if (refusal) throw refused(run, refusal);
    const whenFailed = (error: unknown) =>
      log.warn({ err: error, invocationId }, 'could not count the tokens of a run; it will be tried again');
    return {
      count: () => count(run).catch(whenFailed),
      drop: () => quotas.countTokens(run, used, true).catch(whenFailed),
    };
  }

  const stopping = new AbortController();
  async function countAll(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (await quotas.takeTurn(countMs - 100)) await inParts(await quotas.openRuns(), count);
      } catch (error) {
        log.warn({ err: error }, 'could not count the tokens of the open runs; it will be tried again');
      }
      await delay(countMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }
  const counting = countAll();
  return {
    admit,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await counting;
    },
  };
}

async function inParts(runs: readonly OpenRun[], work: (run: OpenRun) => Promise<void>): Promise<void> {
  for (let at = 0; at < runs.length; at += atOnce) await Promise.all(runs.slice(at, at + atOnce).map(work));
}

function quotasIn(settings: QuotaSettings, app: string): RunQuota[] {
  const { runsPerMinute, userRunsPerMinute, appRunsPerMinute } = settings;
  const { tokensPerMinute, userTokensPerMinute, appTokensPerMinute } = settings;
  const { tokensPerDay, userTokensPerDay, appTokensPerDay } = settings;
  const rows: [RunQuota['scope'], RunQuota['of'], RunQuota['window'], number | undefined][] = [
    ['caller', 'runs', 'minute', runsPerMinute],
    ['user', 'runs', 'minute', userRunsPerMinute],
    ['app', 'runs', 'minute', appRunsPerMinute?.(app)],
    ['caller', 'tokens', 'minute', tokensPerMinute],
    ['user', 'tokens', 'minute', userTokensPerMinute],
    ['app', 'tokens', 'minute', appTokensPerMinute?.(app)],
    ['caller', 'tokens', 'day', tokensPerDay],
    ['user', 'tokens', 'day', userTokensPerDay],
    ['app', 'tokens', 'day', appTokensPerDay?.(app)],
  ];
  return rows.flatMap(([scope, of, window, most]) =>
    most === undefined ? [] : [{ scope, of, window, most }],
  );
}

function refused(
  { userId, appName }: OpenRun,
  { quota: { scope, of, window, most }, waitMs }: { quota: RunQuota; waitMs: number },
): MeshError {
  const who = { caller: 'one caller', user: `user ${userId}`, app: `app ${appName}` }[scope];
  return new MeshError(
    'resource_exhausted',
    `${most} ${of} in a ${window} are the most for ${who}; try again in ${Math.ceil(waitMs / 1_000)} s`,
    { details: { retryAfterMs: waitMs } },
  );
}
