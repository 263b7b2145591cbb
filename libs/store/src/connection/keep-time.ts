import { MeshError, meshClock, noteMeshTime } from '@agentmesh/protocol';
import type { RedisConnection } from './redis-connection.ts';

/** Time between two looks at the clock of Redis, in ms: the monotonic times of two machines hardly drift in it. */
const everyMs = 30_000;
/** The longest round trip after which the time of an answer is exact enough, in ms. */
const exactMs = 500;
/** Number of questions at the start; a process whose answers all come late takes the last one. */
const mostQuestions = 5;

/**
 * Keeps the mesh's time of this process (`meshTime`) by the clock of Redis until it is disposed. A user of Redis who may
 * not ask for the time leaves the process its own clock.
 *
 * @param onSkew called once, when the clock of this process is off; with the ms by which it is ahead
 * @throws MeshError `unavailable` when Redis does not answer
 */
export async function keepTime(
  connection: RedisConnection,
  onSkew: (aheadMs: number) => void = () => {},
): Promise<Disposable> {
  let isTold = false;
  const look = async (isLast: boolean): Promise<boolean> => {
    const { time, roundTripMs } = await timeOf(connection);
    if (roundTripMs > exactMs && !isLast) return false;
    // The answer was made at some moment of its round trip: the own clock is believed as far as that allows.
    const aheadMs = noteMeshTime(Math.min(Math.max(time, Date.now()), time + roundTripMs));
    if (aheadMs !== 0 && !isTold) onSkew(aheadMs);
    isTold ||= aheadMs !== 0;
    return true;
  };
  try {
    for (let n = 1; !(await look(n === mostQuestions)); ) n += 1;
  } catch (error) {
    if (MeshError.from(error).code !== 'permission_denied') throw error;
    meshClock.offset = undefined;
    return { [Symbol.dispose]() {} };
  }
  const timer = setInterval(() => void look(false).catch(() => {}), everyMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Asks Redis for its time, in epoch ms, and measures how long the answer took. */
async function timeOf(connection: RedisConnection): Promise<{ time: number; roundTripMs: number }> {
  let askedAt = 0;
  const [seconds, micros] = await connection.run((redis) => {
    // An outage may come before the question that is answered.
    askedAt = performance.now();
    return redis.time();
  });
  const time = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  return { time, roundTripMs: performance.now() - askedAt };
}
