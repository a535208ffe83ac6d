{{- define "mete.labels" -}}
app.kubernetes.io/name: mete
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "mete.image" -}}
image: {{ printf "%v:%v" .Values.image.repository .Values.image.tag | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{/* A container that has nothing but its program. */}}
{{- define "mete.closed" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "mete.servers" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65534
  runAsGroup: 65534
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Not empty: the webhook deletes claim templates that no pod uses. */}}
{{- define "mete.sweeps" -}}
{{- if and .Values.webhook.claims (ne (toString .Values.webhook.sweep) "0") }}yes{{ end }}
{{- end }}
