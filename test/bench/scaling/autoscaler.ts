/** The settings of a ScaledObject, and of the autoscaler that KEDA makes of it. Times are in ms. */
export interface ScalingRules {
  /** `minReplicaCount` and `maxReplicaCount`. */
  min: number;
  max: number;
  /** `lagThreshold`: messages that a replica should hold. */
  lagThreshold: number;
  /** `activationLagThreshold`: more messages than this start the first replica. */
  activationLag: number;
  /** `pollingInterval`: time between two looks of KEDA while there is no replica. */
  pollingMs: number;
  /** `cooldownPeriod`: time without messages after which the last replica stops. */
  cooldownMs: number;
  /** Time between two looks of the autoscaler; Kubernetes' `--horizontal-pod-autoscaler-sync-period`. */
  syncMs: number;
  /** Time for which the largest recommendation counts before fewer replicas are kept. */
  stabilizationMs: number;
  /** In each period, the autoscaler adds the larger of these: a number of pods, and as many as there are. */
  addedPods: number;
  addingPeriodMs: number;
}

/** The rules of the rendered manifests, with the defaults of Kubernetes, in a time that passes `pace` times as fast. */
export function manifestRules(pace: number, max: number): ScalingRules {
  const ms = (seconds: number) => (seconds * 1_000) / pace;
  return {
    ...{ min: 0, max, lagThreshold: 16, activationLag: 0 },
    ...{ pollingMs: ms(5), cooldownMs: ms(300) },
    ...{ syncMs: ms(15), stabilizationMs: ms(300), addedPods: 4, addingPeriodMs: ms(15) },
  };
}

/** The share of the target by which the lag may miss it without any change; Kubernetes' default. */
const tolerance = 0.1;

/**
 * Returns a function that decides the number of replicas as KEDA and the autoscaler of Kubernetes do. KEDA starts the
 * first replica and stops the last one; in between the autoscaler keeps ceil(lag / threshold) replicas, within the
 * limits. Call it at any time; it looks as often as the rules say.
 */
export function createAutoscaler(
  rules: ScalingRules,
): (now: number, lag: number, replicas: number) => number {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let activeAt = Number.NEGATIVE_INFINITY;
  let recommendations: { time: number; replicas: number }[] = [];
  let begins: { time: number; replicas: number }[] = [];

  /** Returns the decision of the autoscaler, which never keeps less than one replica. */
  function recommend(now: number, lag: number, replicas: number): number {
    const usage = lag / (rules.lagThreshold * replicas);
    const wanted = Math.abs(usage - 1) <= tolerance ? replicas : Math.ceil(lag / rules.lagThreshold);
    const bounded = Math.min(Math.max(wanted, rules.min, 1), rules.max);
    recommendations = [...recommendations, { time: now, replicas: bounded }].filter(
      ({ time }) => time > now - rules.stabilizationMs,
    );
    if (bounded < replicas)
      return Math.min(replicas, Math.max(...recommendations.map((each) => each.replicas)));
    begins = [...begins, { time: now, replicas }].filter(({ time }) => time > now - rules.addingPeriodMs);
    const before = Math.min(...begins.map((each) => each.replicas));
    return Math.min(bounded, Math.max(before + rules.addedPods, before * 2));
  }

  return (now, lag, replicas) => {
    if (now - lookedAt < (replicas === 0 ? rules.pollingMs : rules.syncMs)) return replicas;
    lookedAt = now;
    if (lag > rules.activationLag) activeAt = now;
    if (replicas === 0) {
      recommendations = [];
      begins = [];
      return lag > rules.activationLag ? Math.max(1, rules.min) : rules.min;
    }
    if (rules.min === 0 && lag <= rules.activationLag && now - activeAt >= rules.cooldownMs) return 0;
    return recommend(now, lag, replicas);
  };
}
