import { median } from '../median.ts';
import { startSlowMesh } from './slow-mesh.ts';

const [thinkMs, maxConcurrency, runs] = [500, 4, 160];
const mostReplicas = 4;

/** Measures the runs in a second of 1 to 4 replicas of an agent with a slow model, each with its own slots. */
export async function measureReplicas(rounds: number): Promise<void> {
  await using mesh = await startSlowMesh({ thinkMs, maxConcurrency });
  console.log(
    `\n| replicas of ${maxConcurrency} maxConcurrency, a model that thinks ${thinkMs} ms | runs/s | ÷ 1 replica | ÷ maxConcurrency ÷ time |`,
  );
  console.log('|---:|---:|---:|---:|');
  let ofOne = Number.NaN;
  for (let replicas = 1; replicas <= mostReplicas; replicas += 1) {
    await mesh.addReplica();
    const rates: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const beganAt = performance.now();
      // A user has eight slots at most.
      const begun = await Promise.all(Array.from({ length: runs }, (_, at) => mesh.begin(`user-${at % 40}`)));
      for (const { events, end } of begun) {
        await Array.fromAsync(events);
        const { status } = await end;
        if (status !== 'completed') throw new Error(`a run ended as ${status}`);
      }
      // The first round warms up.
      if (round > 0) rates.push((runs / (performance.now() - beganAt)) * 1_000);
    }
    const rate = median(rates);
    if (replicas === 1) ofOne = rate;
    const most = (replicas * maxConcurrency * 1_000) / thinkMs;
    console.log(
      `| ${replicas} | ${rate.toFixed(1)} | ${(rate / ofOne).toFixed(2)} × | ${(rate / most).toFixed(2)} × |`,
    );
  }
}
