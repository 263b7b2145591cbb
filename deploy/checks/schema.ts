import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject';
import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';

/** The kinds that we use. Another kind in a manifest is an error until it is added here. */
const models = [
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Job,
  Namespace,
  NetworkPolicy,
  PodDisruptionBudget,
  PodMonitor,
  PrometheusRule,
  ScaledObject,
  Secret,
  Service,
  ServiceAccount,
  StatefulSet,
];

/**
 * The keys of the metadata of each type of trigger, from KEDA's documentation of its scalers. The schema accepts any
 * keys there.
 */
const triggerKeys: Record<string, readonly string[]> = {
  'nats-jetstream': [
    ...['natsServerMonitoringEndpoint', 'account', 'stream', 'consumer'],
    ...['lagThreshold', 'activationLagThreshold', 'useHttps'],
  ],
  prometheus: [
    ...['serverAddress', 'query', 'threshold', 'activationThreshold', 'namespace', 'customHeaders'],
    ...['ignoreNullValues', 'queryParameters', 'unsafeSsl', 'timeout', 'authModes'],
  ],
};

/** Wraps an object tree and records the paths of the fields that are read. */
function watched(value: unknown, path: string, seen: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, key) {
      const field: unknown = Reflect.get(target, key);
      if (typeof key !== 'string') return field;
      seen.add(`${path}/${key}`);
      return watched(field, `${path}/${key}`, seen);
    },
  });
}

function paths(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) => [
    `${path}/${key}`,
    ...paths(field, `${path}/${key}`),
  ]);
}

function unknownTriggerKeys(manifest: unknown): string[] {
  if (!ScaledObject.is(manifest)) return [];
  const triggers = manifest.spec?.triggers ?? [];
  return triggers.flatMap(({ type, metadata }) => {
    const known = triggerKeys[type];
    if (!known) return [`trigger type ${type} is not checked here`];
    const unknown = Object.keys(metadata).filter((key) => !known.includes(key));
    return unknown.map((key) => `the ${type} trigger has no ${key}`);
  });
}

/**
 * Returns the problems of a manifest: missing fields, wrong types, and unknown fields.
 *
 * kubernetes-models lets unknown fields pass. But its validators read each field that they know, and no
 * other. A field that was never read is therefore unknown.
 */
export function problemsOf(manifest: unknown): string[] {
  const model = models.find((known) => known.is(manifest));
  if (!model) return ['apiVersion and kind are not known'];
  const seen = new Set<string>();
  try {
    model.prototype.validate.call(watched(manifest, '', seen));
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  const unknown = paths(manifest).filter((path) => !seen.has(path));
  // For an unknown branch, the path of its root is enough.
  const roots = unknown.filter((path) => !unknown.some((other) => path.startsWith(`${other}/`)));
  return [...roots.map((path) => `${path} is not a field of ${model.kind}`), ...unknownTriggerKeys(manifest)];
}
