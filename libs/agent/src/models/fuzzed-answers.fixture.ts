import { errorDialects, type MixedAnswer, mixAnswer, startRudeServer } from '@agentmesh/testing';
import { brokenRules, type ModelKind, strictly, talk } from './rude-models.fixture.ts';

/**
 * Sends random answers to a class of models, and returns those that broke a rule with their seeds.
 *
 * @param seed the seed of the first answer; each next one has the next seed
 */
export async function fuzz(kind: ModelKind, seed: number, count: number): Promise<string[]> {
  let mixed: MixedAnswer | undefined;
  await using server = await startRudeServer((request) => {
    const answer = mixed ?? strictly(kind, request);
    mixed = undefined;
    return answer;
  });
  const dialects = [...kind.dialects, ...errorDialects];
  const model = kind.make(server.url);
  const findings: string[] = [];
  for (let at = seed; at < seed + count; at += 1) {
    const isStream = at % 3 > 0;
    const answer = mixAnswer(dialects, at, isStream);
    mixed = answer;
    server.requests.length = 0;
    const outcome = await talk(model, isStream);
    // A `{}` whose arguments the mix has left out is a whole call.
    const noted = outcome.noted.filter((args) => !answer.isChanged && Object.keys(args).length > 0);
    const broken = brokenRules({ ...outcome, noted }, server.requests);
    if (broken.length > 0)
      findings.push(`${kind.name}, seed ${at}: ${broken.join('; ')}\n${JSON.stringify(answer)}`);
  }
  return findings;
}
